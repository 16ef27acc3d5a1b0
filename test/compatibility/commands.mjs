import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Milliseconds that a command may take, installations included. */
const LONGEST = 300_000;

/**
 * Runs a command to its end.
 * @param {string} command
 * @param {readonly string[]} parameters
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, onLine?: (line: string) => void, longest?: number }} options `longest` in ms
 * @returns {Promise<string>} what it wrote to standard output
 * @throws an error with all that it wrote, if it fails, or takes too long
 */
export async function run(command, parameters, { cwd, env = process.env, onLine, longest = LONGEST }) {
  const child = spawn(command, parameters, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, all, line] = ['', '', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    all += text;
    line += text;
    const lines = line.split('\n');
    line = lines.pop() ?? '';
    for (const each of lines) onLine?.(each);
  });
  child.stderr.setEncoding('utf8').on('data', (text) => (all += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), longest);
  try {
    const [code, signal] = await once(child, 'close');
    if (code === 0) return output;
    const how =
      signal === 'SIGKILL' ? `did not end within ${longest / 1_000} s` : `ended with ${code ?? signal}`;
    throw new Error(`${command} ${parameters.join(' ')} ${how}:\n${all.slice(-6_000)}`);
  } finally {
    clearTimeout(timer);
  }
}
