"""Resume: what earlier tries of a flow run have stored is not done again."""
