"""The hardware model's configuration, tables and reports."""
