import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

/** The name of the poll among the application's scheduled intervals. */
export const SAGA_POLL_INTERVAL = 'saga:poll';

/** The used methods of the `SchedulerRegistry` of `@nestjs/schedule`. */
interface IntervalRegistry {
  addInterval(name: string, timer: NodeJS.Timeout): void;
  deleteInterval(name: string): void;
  doesExist(type: 'interval', name: string): boolean;
}

/**
 * Runs scheduled polls. If the application uses `@nestjs/schedule`, they are registered in its SchedulerRegistry, which
 * can list and stop them like any `@Interval`. The package is not imported, so that it stays optional.
 */
@Injectable()
export class SagaPoller {
  private registry: IntervalRegistry | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** @param name among the application's intervals */
  start(interval: number, tick: () => void, name = SAGA_POLL_INTERVAL): void {
    this.registry ??= this.registryOfApplication() ?? new OwnIntervals();
    this.registry.addInterval(name, setInterval(tick, interval));
  }

  stop(name = SAGA_POLL_INTERVAL): void {
    if (this.registry?.doesExist('interval', name)) this.registry.deleteInterval(name);
  }

  private registryOfApplication(): IntervalRegistry | undefined {
    const wrapper = this.discovery
      .getProviders()
      .find(({ metatype, instance }) => metatype?.name === 'SchedulerRegistry' && isRegistry(instance));
    return wrapper?.instance as IntervalRegistry | undefined;
  }
}

function isRegistry(instance: unknown): instance is IntervalRegistry {
  const { addInterval, deleteInterval, doesExist } = (instance ?? {}) as Partial<IntervalRegistry>;
  return [addInterval, deleteInterval, doesExist].every((method) => typeof method === 'function');
}

class OwnIntervals implements IntervalRegistry {
  private readonly timers = new Map<string, NodeJS.Timeout>();

  addInterval(name: string, timer: NodeJS.Timeout): void {
    this.timers.set(name, timer);
  }

  deleteInterval(name: string): void {
    clearInterval(this.timers.get(name));
    this.timers.delete(name);
  }

  doesExist(_type: 'interval', name: string): boolean {
    return this.timers.has(name);
  }
}
