import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';

/** The name of the poll among the application's scheduled intervals. */
export const SAGA_POLL_INTERVAL = 'saga:poll';

/**
 * The scheduled poll, kept in the application's SchedulerRegistry, where it can be seen and stopped like any
 * `@Interval`. Importing ScheduleModule here would mount the application's own cron jobs a second time, so where
 * the application has none, the poll is kept in a registry of its own.
 */
@Injectable()
export class SagaPoller {
  private registry: SchedulerRegistry | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  start(interval: number, tick: () => void): void {
    const wrapper = this.discovery
      .getProviders()
      .find((provider) => provider.instance instanceof SchedulerRegistry);
    this.registry = (wrapper?.instance as SchedulerRegistry | undefined) ?? new SchedulerRegistry();
    this.registry.addInterval(SAGA_POLL_INTERVAL, setInterval(tick, interval));
  }

  stop(): void {
    if (this.registry?.doesExist('interval', SAGA_POLL_INTERVAL))
      this.registry.deleteInterval(SAGA_POLL_INTERVAL);
  }
}
