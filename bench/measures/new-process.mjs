// A process of its own for what a process does once: the same file, with flags.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * What a new process sends by `process.send` before it ends.
 * @param file `import.meta.url` of the measure, which sees by its flags that it is the new process
 */
export async function inNewProcess(file, flags) {
  const child = fork(fileURLToPath(file), flags, { execArgv: process.execArgv });
  const ended = once(child, 'exit');
  const [sent] = await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => Promise.reject(new Error(`a new process ended with ${code}`))),
  ]);
  await ended;
  return sent;
}
