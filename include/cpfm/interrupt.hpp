// Ctrl-C and SIGTERM, politely: the handler only sets a flag, long work asks for it at safe points, saves what it
// supports saving and ends with cpfm::Interrupted (exit code 130). A second signal ends the process at once.
#pragma once

namespace cpfm {

// Catches SIGINT and SIGTERM from now on, except where the process was started with them ignored (nohup, a shell's
// background jobs). For programs; a library user may never call it.
void catch_interrupts();

// True once an interrupt was asked for, by a signal or by request_interrupt.
bool interrupt_requested();
void request_interrupt();
void clear_interrupt();

// Throws cpfm::Interrupted when one was asked for.
void check_interrupt();

}  // namespace cpfm
