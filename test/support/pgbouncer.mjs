import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds. */
const START_TIMEOUT = 10_000;

/** Where Debian puts it is not in everybody's PATH. @returns {string | undefined} */
export function findPgbouncer() {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((file) => existsSync(file));
}

/**
 * pgbouncer, by default in transaction mode, with fewer connections than clients: no client has one of its
 * own. In session mode each client has one.
 * @param {string} binary
 * @param {string} url of the database behind it
 * @param {'session' | 'transaction' | 'statement'} mode
 * @returns {Promise<{ url: string, stop(): Promise<void> }>}
 */
export async function startPgbouncer(binary, url, mode = 'transaction') {
  const folder = await mkdtemp(join(tmpdir(), 'saga-pgbouncer-'));
  await chmod(folder, 0o755);
  const port = await freePort();
  await writeFile(join(folder, 'pgbouncer.ini'), configuration(new URL(url), port, mode));
  const asRoot = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(binary, [...asRoot, join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (log = (log + text).slice(-4_000)));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await rm(folder, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + START_TIMEOUT; !(await answers(port)); await sleep(50)) {
    if (Date.now() < deadline && child.exitCode === null) continue;
    await stop();
    throw new Error(`pgbouncer did not start. Its last words:\n${log}`);
  }
  const pooled = new URL(url);
  pooled.port = String(port);
  pooled.hostname = '127.0.0.1';
  return { url: pooled.href, stop };
}

function configuration({ hostname, port, username, password, pathname }, ownPort, mode) {
  const name = pathname.slice(1);
  return `[databases]
${name} = host=${hostname} port=${port} dbname=${name} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${mode === 'session' ? 50 : 4}
max_client_conn = 200
`;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
