"""How sure a fit is: its noise, what its form may miss, and every interval of a law."""
