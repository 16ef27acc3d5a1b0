#!/usr/bin/env node
import { runCommand } from './run-command.js';
import { processTerminal } from './terminal.js';

const code = await runCommand(process.argv.slice(2), processTerminal());
// The application's module may have left timers or sockets open; what was written goes out first.
process.stdout.write('', () => process.exit(code));
