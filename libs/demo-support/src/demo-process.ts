import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Ready } from './parent.js';

/** How long a process may take to come to rest before it is killed. */
const PATIENCE = 10_000;
const LINES_KEPT = 30;

/** A process of the application, forked by the player. */
export class DemoProcess {
  private readonly readiness: Promise<Ready>;

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
    private readonly output: string[],
  ) {
    this.readiness = new Promise((resolve, reject) => {
      child.once('message', (message) => resolve(message as Ready));
      child.once('error', reject);
      child.once('close', () => reject(new Error(`${name} ended before it was ready. ${this.lastWords}`)));
    });
    // Callers see the failure in `ready`.
    this.readiness.catch(() => undefined);
  }

  /** @param program its compiled file */
  static start(name: string, program: URL, env: NodeJS.ProcessEnv): DemoProcess {
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const;
    // Detached: ctrl-C reaches the player alone, which then ends the others in their order.
    const options = { env: { ...process.env, ...env, NO_COLOR: '1' }, stdio: [...stdio], detached: true };
    const child = fork(program, options);
    const output: string[] = [];
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output.push(...text.trimEnd().split('\n'));
        output.splice(0, output.length - LINES_KEPT);
      });
    }
    return new DemoProcess(name, child, output);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What it logged last, for when something goes wrong. */
  get lastWords(): string {
    return [`${this.name} (process ${this.pid}):`, ...this.output].join('\n  ');
  }

  /** @throws Error when it ends before it is ready */
  ready(): Promise<Ready> {
    return this.readiness;
  }

  /** Resolves once it has ended, in whichever way. */
  async ended(): Promise<void> {
    if (this.running) await once(this.child, 'exit');
  }

  /** `kill -9`: no goodbye, no clean-up. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** As a deployment would: it may finish what it is doing. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => void this.end('SIGKILL'), PATIENCE);
    await this.end('SIGTERM');
    clearTimeout(timer);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.running) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}
