//! Nouns of the control plane: agents, attributes, selectors, tokens, states; pure.
