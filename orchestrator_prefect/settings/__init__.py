"""Settings: what a user says about how a flow is planned, and what its tasks need."""
