import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** `SIGINT` ends all sessions and shuts down; `SIGQUIT` is as if the power had gone. */
export async function endServer(
  server: ChildProcess,
  signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT',
): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  // Windows has no signals, and would leave the processes of the sessions behind.
  if (process.platform === 'win32') spawn('taskkill', ['/pid', String(server.pid), '/f', '/t']);
  else server.kill(signal);
  await ended;
}
