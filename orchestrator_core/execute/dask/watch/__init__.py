"""What people and machines see of the plugin: status, page, figures, reasons."""
