import { Injectable } from '@nestjs/common';
import { Saga, SagaSchedules, type ScheduleTick, Step, type StepContext } from 'nestjs-durable-saga';

export interface Report {
  day: string;
}

/** Where the figures are, and where the report goes: your own services. */
@Injectable()
export class Warehouse {
  async countOrders(_day: string): Promise<number> {
    return 42;
  }
}

/** Each night at 02:00 in Berlin, one report over the day before, however many processes run. */
@Saga({
  name: 'nightly-report',
  schedule: {
    cron: '0 2 * * *',
    timezone: 'Europe/Berlin',
    input: ({ at }: ScheduleTick): Report => ({ day: dayBefore(at) }),
  },
})
export class NightlyReportSaga {
  constructor(private readonly warehouse: Warehouse) {}

  @Step({ retry: { attempts: 10, delay: '1m' } })
  count(ctx: StepContext<Report>): Promise<number> {
    return this.warehouse.countOrders(ctx.input.day);
  }

  @Step()
  send(ctx: StepContext<Report, NightlyReportSaga>): void {
    const { day } = ctx.input;
    ctx.publish({ topic: 'mails', type: 'daily-report', payload: { day, orders: ctx.results.count } });
  }
}

function dayBefore(at: Date): string {
  return new Date(at.getTime() - 86_400_000).toISOString().slice(0, 10);
}

/** The work of each hour must be done, also that of the hours in which nothing ran. */
@Saga({
  name: 'hourly-billing',
  schedule: {
    cron: '0 * * * *',
    overlap: 'queue',
    catchUp: 'all',
    input: ({ at }: ScheduleTick) => ({ until: at.toISOString() }),
  },
})
export class HourlyBillingSaga {
  @Step()
  bill(ctx: StepContext<{ until: string }>): string {
    return `billed until ${ctx.input.until}`;
  }
}

@Injectable()
export class ReportOperations {
  constructor(private readonly schedules: SagaSchedules) {}

  async overview(): Promise<string[]> {
    const schedules = await this.schedules.list();
    return schedules.map(({ saga, next }) => `${saga}: ${next ? `next at ${next.toISOString()}` : 'paused'}`);
  }

  async duringMigration(migrate: () => Promise<void>, by: string): Promise<void> {
    await this.schedules.pause(NightlyReportSaga, { by, reason: 'the warehouse is migrated' });
    await migrate();
    await this.schedules.resume(NightlyReportSaga);
  }

  async now(): Promise<string> {
    const { id } = await this.schedules.trigger(NightlyReportSaga);
    return id;
  }
}
