import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';

/** The name of the poll among the application's scheduled intervals. */
export const SAGA_POLL_INTERVAL = 'saga:poll';

/**
 * Scheduled polls, kept in the application's SchedulerRegistry, where it can be seen and stopped like any
 * `@Interval`. Importing ScheduleModule here would mount the application's own cron jobs a second time, so where
 * the application has none, they are kept in a registry of their own.
 */
@Injectable()
export class SagaPoller {
  private registry: SchedulerRegistry | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** @param name among the application's intervals */
  start(interval: number, tick: () => void, name = SAGA_POLL_INTERVAL): void {
    const wrapper = this.discovery
      .getProviders()
      .find((provider) => provider.instance instanceof SchedulerRegistry);
    this.registry ??= (wrapper?.instance as SchedulerRegistry | undefined) ?? new SchedulerRegistry();
    this.registry.addInterval(name, setInterval(tick, interval));
  }

  stop(name = SAGA_POLL_INTERVAL): void {
    if (this.registry?.doesExist('interval', name)) this.registry.deleteInterval(name);
  }
}
