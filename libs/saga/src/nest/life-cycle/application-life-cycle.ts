import {
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { serializeError } from '../../engine/payload/serialize-error.js';
import { inOwnContext } from '../../shared/own-context.js';
import { SagaLog } from '../saga-log.js';
import { WorkInProgress } from './work-in-progress.js';

/** What of this package calls methods of the application, or uses its providers, while the application runs. */
export interface LifeCyclePart {
  /** Runs after every onApplicationBootstrap hook of the application. What it throws stops the start. */
  begin?(): Promise<void>;
  /** Runs before every onModuleDestroy hook. Afterwards no method of the application is in progress. */
  drain?(): Promise<void>;
  /** Runs after servers are closed, before every onApplicationShutdown hook. Afterwards no connection is used. */
  close?(): Promise<void>;
}

/**
 * `run` drains before `send`: what runs may still publish, and what sends may still send it.
 */
export type LifeCycleStage = 'run' | 'send';

/**
 * Nest calls the hooks of modules by their distance from the root module: first those of global modules and of distant
 * ones at the start, and last at the shutdown. A module below every distance is therefore last to start and first to shut
 * down, whatever the order of imports. Nest itself sorts the hooks by this number only.
 */
const BELOW_EVERY_MODULE = Number.MIN_SAFE_INTEGER;

/** Orders what this package runs around the hooks of the application: last to start, first to stop. */
@Injectable()
export class ApplicationLifeCycle implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly log = new SagaLog('SagaModule');
  private readonly parts: Readonly<Record<LifeCycleStage, LifeCyclePart[]>> = { run: [], send: [] };
  /** Handlers of messages and observers of events, for which the drain waits. */
  readonly work = new WorkInProgress();
  /** Milliseconds. */
  private shutdownTimeout = 0;
  private begun: Promise<void> | undefined;
  private drained: Promise<void> | undefined;
  private closed: Promise<void> | undefined;

  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    for (const module of modules.values())
      if (module.hasProvider(ApplicationLifeCycle)) module.distance = BELOW_EVERY_MODULE;
  }

  /** @param shutdownTimeout milliseconds for which the drain waits for `work`, at least; counted from its start */
  add(part: LifeCyclePart, stage: LifeCycleStage, shutdownTimeout: number): void {
    this.parts[stage].push(part);
    this.shutdownTimeout = Math.max(this.shutdownTimeout, shutdownTimeout);
  }

  /** True from the first moment of the shutdown: nothing begins any more. */
  get isEnding(): boolean {
    return this.drained !== undefined;
  }

  /** Microservices of Nest call the hooks of the start twice if they are initialised before they listen. */
  async onApplicationBootstrap(): Promise<void> {
    // A signal may end an application whose hooks are still being called.
    if (this.isEnding) return;
    this.begun ??= this.begin();
    await this.begun;
  }

  /** Never rejects: before Nest 12 that would keep the other modules from being destroyed. */
  async onModuleDestroy(): Promise<void> {
    this.drained ??= this.drain();
    await this.drained;
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed ??= this.ofAll([...this.parts.run, ...this.parts.send], 'close');
    await this.closed;
  }

  private async begin(): Promise<void> {
    for (const part of [...this.parts.send, ...this.parts.run])
      await inOwnContext(async () => part.begin?.());
  }

  private async drain(): Promise<void> {
    const until = performance.now() + this.shutdownTimeout;
    await this.begun?.catch(() => undefined);
    await this.ofAll(this.parts.run, 'drain');
    await this.work.settledWithin(until - performance.now());
    if (this.work.size > 0)
      this.log.warn(
        `${this.work.size} message handler(s) or observer(s) are still in progress after shutdownTimeout; the shutdown continues`,
      );
    await this.ofAll(this.parts.send, 'drain');
  }

  private async ofAll(parts: readonly LifeCyclePart[], phase: 'drain' | 'close'): Promise<void> {
    const each = parts.map((part) => inOwnContext(async () => part[phase]?.()));
    for (const result of await Promise.allSettled(each)) {
      if (result.status === 'fulfilled') continue;
      const { message, stack } = serializeError(result.reason);
      this.log.error(`A part of the shutdown failed; the shutdown continues: ${message}`, stack);
    }
  }
}

/** Holds ApplicationLifeCycle alone: hooks are ordered by module. One for the application, however many modules import it. */
@Module({ providers: [ApplicationLifeCycle], exports: [ApplicationLifeCycle] })
export class LifeCycleModule {}
