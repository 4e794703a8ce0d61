"""calm's own plug-ins: each declares what it gives in the way of any other package (`calm.core.plugins`)."""
