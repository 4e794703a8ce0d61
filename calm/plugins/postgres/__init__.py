"""The shared record: replies, leases and accounts on a PostgreSQL server, for several machines."""

STORES = dict.fromkeys(("postgresql", "postgres"), "calm.plugins.postgres.server:read_address")
