import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { WorkerCommand } from './programs/worker.js';

const PROGRAM = fileURLToPath(new URL('../dist/programs/worker.js', import.meta.url));
const WALL_CLOCK = new URL('../dist/programs/wall-clock.js', import.meta.url).href;

/** A worker of the rig, in a process of its own. */
export class WorkerProcess {
  private expected = false;

  private constructor(private readonly child: ChildProcess) {}

  /** @param onCrash called if it ends unexpectedly */
  static async start(
    environment: Record<string, string>,
    onCrash: (how: string) => void,
  ): Promise<WorkerProcess> {
    const child = fork(PROGRAM, {
      env: { ...process.env, NODE_OPTIONS: '', ...environment },
      execArgv: ['--import', WALL_CLOCK],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const worker = new WorkerProcess(child);
    child.on('exit', (code, signal) => {
      if (!worker.expected) onCrash(`worker ${child.pid} ended by itself: ${signal ?? code}`);
    });
    await worker.reports('ready');
    return worker;
  }

  /** Resolves with its next report of this type, or once it has ended. */
  reports(type: string): Promise<void> {
    return new Promise((resolve) => {
      const settle = (message?: unknown): void => {
        if ((message as { type?: string } | undefined)?.type !== type && this.isRunning) return;
        this.child.off('message', settle);
        this.child.off('exit', settle);
        resolve();
      };
      this.child.on('message', settle);
      this.child.on('exit', settle);
    });
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  send(command: WorkerCommand): void {
    if (this.isRunning) this.child.send(command);
  }

  /** Stops it for a while, or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.child.kill(signal);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (!this.isRunning) return;
    this.expected = true;
    const exit = once(this.child, 'exit');
    this.child.kill(signal);
    await exit;
  }
}
