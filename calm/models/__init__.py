"""How a model server is called: requests, replies, providers, prices and pacing."""
