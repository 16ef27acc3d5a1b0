import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.js';
import { ownSchema, URL as DATABASE } from './app.js';

const BODY = JSON.stringify({ saga: 'greet' });
const HEADERS = { 'content-type': 'application/json', 'x-saga-admin': '1' };

const declared = (version: number) =>
  `saga: greet\nversion: ${version}\nsteps:\n  greet: { exec: { command: [echo, '"hello"'] } }\n`;

/** A daemon of the command line, over one file. */
class Daemon {
  private version = 1;
  private log = '';

  private constructor(
    private readonly file: string,
    private readonly process: ChildProcess,
  ) {
    process.stdout!.on('data', (data) => (this.log += String(data)));
  }

  static async start(): Promise<Daemon> {
    const file = join(await mkdtemp(join(tmpdir(), 'daemon-')), 'greet.yaml');
    await writeFile(file, declared(1));
    const words = ['serve', file, '--port', '0', '--url', DATABASE, '--schema', ownSchema()];
    return new Daemon(file, spawn('node_modules/.bin/saga', words, { stdio: ['ignore', 'pipe', 'inherit'] }));
  }

  /** Sends the head of a request that starts a saga. Its body is to follow. */
  async beginRequest(): Promise<Socket> {
    const { host, hostname, port } = await this.url();
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    const headers = { ...HEADERS, host, 'content-length': BODY.length };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /sagas/api/sagas HTTP/1.1\r\n${lines.join('')}\r\n`);
    return socket;
  }

  /** Whether a request that starts a saga is answered within this time. Its client does not wait for longer. */
  async answers(withinMs: number): Promise<boolean> {
    const request = { method: 'POST', headers: HEADERS, body: BODY, signal: AbortSignal.timeout(withinMs) };
    return fetch(await this.url(), request).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Changes the file, and asks for a reload. Resolves with a function that resolves when it has ended. */
  async reload(): Promise<() => Promise<unknown>> {
    const version = (this.version += 1);
    await writeFile(this.file, declared(version));
    this.process.kill('SIGHUP');
    return () => this.logged(new RegExp(`Reloaded: greet@${version}`));
  }

  /** Returns the exit code. */
  async stop(): Promise<number | null> {
    const exited = once(this.process, 'exit', { signal: AbortSignal.timeout(20_000) });
    this.process.kill('SIGTERM');
    const [code] = (await exited) as [number | null];
    return code;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  private async url(): Promise<URL> {
    const [, url] = await this.logged(/ at (http:\/\/127\.0\.0\.1:\d+)/);
    return new URL('/sagas/api/sagas', url);
  }

  private logged(pattern: RegExp): Promise<RegExpExecArray> {
    return eventually(() => {
      const found = pattern.exec(this.log);
      assert.ok(found, `the log has no ${pattern}: ${this.log}`);
      return found;
    });
  }
}

/** A daemon reloads again, answers and stops, whatever the clients did that an earlier reload held back. */
export async function reloadsHoldNothingForEver(): Promise<void> {
  const daemon = await Daemon.start();
  try {
    const slow = await daemon.beginRequest();
    const second = await daemon.reload();
    await eventually(async () => assert.equal(await daemon.answers(300), false));
    slow.write(BODY);
    await second();
    const endless = await daemon.beginRequest();
    const third = await daemon.reload();
    await third();
    await eventually(() => assert.ok(endless.closed));
    assert.ok(await daemon.answers(10_000));
    assert.equal(await daemon.stop(), 0);
  } finally {
    daemon.kill();
  }
}
