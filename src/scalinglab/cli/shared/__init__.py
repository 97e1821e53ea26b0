"""What commands share: options, tables that are read, results that are printed."""
