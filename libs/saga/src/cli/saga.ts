#!/usr/bin/env node
import { runCommand } from './run-command.js';

const code = await runCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(`${text}\n`),
  error: (text) => process.stderr.write(`${text}\n`),
});
// The application's module may have left timers or sockets open; what was written goes out first.
process.stdout.write('', () => process.exit(code));
