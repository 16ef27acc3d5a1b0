import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { RigInput } from '../programs/rig-sagas.js';
import { HttpParticipants } from './http-participants.js';
import { RIG_DECLARED } from './rig-declared.js';

const BIN = fileURLToPath(new URL('../../../../../libs/cli/dist/saga.js', import.meta.url));
const TOKEN = 'the-token-of-the-rig';
/** The pause (ms) after a request that was not answered. */
const PAUSE = 50;
/** How long (ms) a start is repeated until it counts as refused: a daemon that is killed again and again starts slowly. */
const PATIENCE = 120_000;

/** A daemon in a process of its own, which is killed and started again, and the services that its sagas call. */
export class RigDaemon {
  private child!: ChildProcess;
  private address = '';

  private constructor(
    private readonly folder: string,
    private readonly participants: HttpParticipants,
    private readonly words: readonly string[],
  ) {}

  /** @param lease milliseconds */
  static async start(url: string, participantUrl: string, lease: number): Promise<RigDaemon> {
    const folder = await mkdtemp(join(tmpdir(), 'rig-daemon-'));
    await writeFile(join(folder, 'rig-declared.yaml'), RIG_DECLARED);
    const participants = await HttpParticipants.start(participantUrl);
    const words = [
      'serve',
      folder,
      '--url',
      url,
      '--lease',
      `${lease}ms`,
      '--log',
      'json',
      '--allow-private',
    ];
    const daemon = new RigDaemon(folder, participants, words);
    await daemon.launch('0');
    return daemon;
  }

  /** Kills it at once, and starts it again at the same address. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
    await this.launch(new URL(this.address).port);
  }

  /**
   * Starts a saga over REST, as a client does: again, with the same correlation id, until it is acknowledged.
   * @returns its id
   */
  async start(input: RigInput, correlationId: string): Promise<string> {
    const until = performance.now() + PATIENCE;
    for (;;) {
      try {
        const answer = await this.post({ saga: 'rig-declared', input, correlationId });
        if (answer.ok) return ((await answer.json()) as { id: string }).id;
        if (answer.status < 500) throw new Refused(`${answer.status} ${await answer.text()}`);
      } catch (error) {
        // It may or may not have arrived.
        if (error instanceof Refused || performance.now() > until) throw error;
      }
      await sleep(PAUSE);
    }
  }

  /** How the process ended. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const exit = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await exit;
    return code;
  }

  async close(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.end('SIGKILL');
    await this.participants.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  private post(body: object): Promise<Response> {
    return fetch(`${this.address}/sagas/api/sagas`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'x-saga-admin': '1' },
        authorization: `Bearer ${TOKEN}`,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
  }

  /** Resolves once it answers. A supervisor starts it again if it cannot start. */
  private async launch(port: string): Promise<void> {
    for (;;) {
      const child = spawn(process.execPath, [BIN, ...this.words, '--port', port], {
        env: { ...process.env, NODE_OPTIONS: '', SAGA_TOKEN: TOKEN, PARTICIPANT: this.participants.address },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      this.child = child;
      const address = await servedAt(child);
      if (address !== undefined) {
        this.address = address;
        return;
      }
      await sleep(500);
    }
  }
}

class Refused extends Error {}

/** The address that its log has. Undefined: it has ended. */
async function servedAt(child: ChildProcess): Promise<string | undefined> {
  const lines = createInterface({ input: child.stdout! });
  const found = new Promise<string>((resolve) =>
    lines.on('line', (line) => {
      const [, address] = /Serving .* at (https?:\/\/[^/]+)\//.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    }),
  );
  return Promise.race([found, once(child, 'exit').then(() => undefined)]);
}
