"""The shared record: replies, leases and accounts on a PostgreSQL server, for several machines."""
