//! Pure: where replicas run, how an update proceeds, and what each host should run. The control plane stores and sends
//! what is decided here.
