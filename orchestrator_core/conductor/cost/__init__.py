"""What programs cost on a device: work, seconds, and bytes of temporary values."""
