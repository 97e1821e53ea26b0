"""From a module to its layers and the rule of its Lipschitz constant."""
