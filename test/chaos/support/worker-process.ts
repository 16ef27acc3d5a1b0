import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Report } from '../programs/report.js';

const PROGRAM = fileURLToPath(new URL('../dist/worker.js', import.meta.url));

/** For Restate. */
const RESOLVERS = new URL('../../support/with-resolvers.mjs', import.meta.url).href;

/** A worker in a process of its own, which can really be killed. */
export class WorkerProcess {
  private readonly reports: Report[] = [];
  private readonly child: ChildProcess;
  private arrived: (() => void)[] = [];

  private constructor(environment: Record<string, string>) {
    this.child = fork(PROGRAM, {
      execArgv: ['--import', RESOLVERS],
      env: { ...process.env, NODE_OPTIONS: '', ...environment },
      stdio: 'inherit',
    });
    this.child.on('message', (message) => {
      this.reports.push(message as Report);
      for (const resolve of this.arrived.splice(0)) resolve();
    });
    this.child.on('exit', () => {
      for (const resolve of this.arrived.splice(0)) resolve();
    });
  }

  static async start(environment: Record<string, string>): Promise<WorkerProcess> {
    const worker = new WorkerProcess(environment);
    await worker.reported('ready');
    return worker;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  send(command: { type: string; [key: string]: unknown }): void {
    this.child.send(command);
  }

  /** The first report of this type; waits for it. */
  async reported(type: string): Promise<Report> {
    for (;;) {
      const found = this.reports.find((report) => report.type === type);
      if (found) return found;
      if (!this.running)
        throw new Error(
          `The worker ended (${this.child.exitCode ?? this.child.signalCode}) without '${type}'`,
        );
      await new Promise<void>((resolve) => this.arrived.push(resolve));
    }
  }

  has(type: string): boolean {
    return this.reports.some((report) => report.type === type);
  }

  /** How it ended; waits for it. */
  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    if (this.running) await once(this.child, 'exit');
    return { code: this.child.exitCode, signal: this.child.signalCode };
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.running) return;
    const exit = once(this.child, 'exit');
    this.child.kill(signal);
    await exit;
  }
}

/** The number of the worker that says that it holds a call whose effect is there. */
export function firstToHold(workers: WorkerProcess[]): Promise<number> {
  return Promise.race(
    workers.map(async (worker, n) => {
      await worker.reported('holding');
      return n;
    }),
  );
}
