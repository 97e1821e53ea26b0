"""The commands: importing a module of this package registers those in it."""
