"""The live page that follows a store."""
