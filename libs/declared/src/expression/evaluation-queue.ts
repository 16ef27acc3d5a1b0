import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EvaluationAnswer,
  type EvaluationFailure,
  EvaluationProcess,
  type EvaluationRequest,
} from './evaluation-process.js';

interface Task {
  readonly request: EvaluationRequest;
  readonly resolve: (answer: EvaluationAnswer) => void;
  readonly reject: (error: Error) => void;
  /** Whether a process did not answer it, alone or with other tasks. Such a task is sent alone. */
  isSuspect: boolean;
}

/** Milliseconds that what is asked at once may take. JSONata ends itself before, unless a regular expression runs. */
const TIMEOUT = 2_000;
/** Milliseconds until a process has started, on a machine that is busy. */
const START_TIMEOUT = 30_000;
const BETWEEN_STARTS = 500;
const MOST_STARTS = 3;
const MOST_PROCESSES = 4;
/** What is asked at once while more is asked than is answered. */
const LARGEST_BATCH = 32;
/** Milliseconds that requests wait for a process before another one starts. */
const PATIENCE = 50;
/** Milliseconds after which a process that is not used ends. */
const IDLE = 60_000;

/**
 * Requests to processes that evaluate. One process answers them in turn. Others start only while it takes long, so that
 * an input which takes all its time holds back few others. A request fails for good if a process gave it no answer
 * although it was asked alone.
 */
export class EvaluationQueue {
  private waiting: Task[] = [];
  private readonly idle: EvaluationProcess[] = [];
  /** Processes, those that start included. */
  private count = 0;
  private isStarting = false;
  private growth: NodeJS.Timeout | undefined;
  private rest: NodeJS.Timeout | undefined;

  /** @throws EvaluationFailure if the request took too long, or too much memory; Error if no process can be started */
  ask(request: EvaluationRequest): Promise<EvaluationAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, resolve, reject, isSuspect: false });
      this.proceed();
    });
  }

  private proceed(): void {
    while (this.waiting.length > 0) {
      const process = this.takeIdle();
      if (!process) break;
      void this.work(process, this.takeBatch());
    }
    if (this.waiting.length === 0) return this.restLater();
    if (this.count === 0) void this.start();
    else if (this.count < MOST_PROCESSES && !this.isStarting) {
      this.growth ??= setTimeout(() => {
        this.growth = undefined;
        if (this.waiting.length > 0 && !this.isStarting) void this.start();
      }, PATIENCE);
    }
  }

  private takeIdle(): EvaluationProcess | undefined {
    for (;;) {
      const process = this.idle.pop();
      if (!process || process.isAlive) return process;
      this.count -= 1;
    }
  }

  private takeBatch(): Task[] {
    const [first] = this.waiting;
    if (first!.isSuspect) return this.waiting.splice(0, 1);
    const suspect = this.waiting.findIndex(({ isSuspect }) => isSuspect);
    return this.waiting.splice(0, Math.min(LARGEST_BATCH, suspect < 0 ? Infinity : suspect));
  }

  private async work(process: EvaluationProcess, tasks: readonly Task[]): Promise<void> {
    try {
      const requests = tasks.map(({ request }) => request);
      const answers = await process.ask(requests, TIMEOUT);
      tasks.forEach(({ resolve }, n) => resolve(answers[n]!));
      this.idle.push(process);
    } catch (error) {
      process.end();
      this.count -= 1;
      this.failed(tasks, error as EvaluationFailure);
    }
    this.proceed();
  }

  /** One among several, or a process that was ended from outside, says nothing about a request. */
  private failed(tasks: readonly Task[], failure: EvaluationFailure): void {
    const [only] = tasks;
    if (tasks.length === 1 && (only!.isSuspect || failure.kind === 'late')) only!.reject(failure);
    else this.waiting.push(...tasks.map((task) => Object.assign(task, { isSuspect: true })));
  }

  private async start(): Promise<void> {
    this.isStarting = true;
    this.count += 1;
    try {
      this.idle.push(await this.started());
    } catch (error) {
      this.count -= 1;
      const problem = `No process can be started that evaluates expressions: ${(error as Error).message}`;
      if (this.count === 0) for (const { reject } of this.waiting.splice(0)) reject(new Error(problem));
    }
    this.isStarting = false;
    this.proceed();
  }

  private async started(): Promise<EvaluationProcess> {
    for (let starts = 1; ; starts += 1) {
      const process = new EvaluationProcess();
      try {
        await process.ask([], START_TIMEOUT);
        return process;
      } catch (error) {
        process.end();
        if (starts === MOST_STARTS) throw error;
        await sleep(BETWEEN_STARTS);
      }
    }
  }

  private restLater(): void {
    if (this.rest) return void this.rest.refresh();
    this.rest = setTimeout(() => {
      this.count -= this.idle.length;
      for (const process of this.idle.splice(0)) process.end();
    }, IDLE).unref();
  }
}
