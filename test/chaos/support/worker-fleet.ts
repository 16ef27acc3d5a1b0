import { type ChaosDatabases, createChaosDatabases } from './chaos-databases.js';
import { WorkerProcess } from './worker-process.js';

/** Workers side by side on databases of their own, of which one after the other is killed. */
export class WorkerFleet {
  private constructor(
    readonly databases: ChaosDatabases,
    readonly workers: WorkerProcess[],
  ) {}

  static async start(processes: number): Promise<WorkerFleet> {
    const databases = await createChaosDatabases();
    const starting = Array.from({ length: processes }, () => WorkerProcess.start(databases.environment));
    return new WorkerFleet(databases, await Promise.all(starting));
  }

  /** Kills the worker of this number with SIGKILL, and starts another in its place. */
  async replace(victim: number): Promise<void> {
    await this.workers[victim]!.kill('SIGKILL');
    this.workers[victim] = await WorkerProcess.start(this.databases.environment);
  }

  async end(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    await this.databases.drop();
  }
}
