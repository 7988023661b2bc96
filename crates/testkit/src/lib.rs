//! For tests only: raw peers, scripted servers, session pairs on a virtual clock.
