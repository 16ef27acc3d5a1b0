import { Get, Inject, Query, Req } from '@nestjs/common';
import type { SagaStats } from 'nestjs-durable-saga/operators';
import { dto, field } from '../api-docs.js';
import { AdminController, Route } from '../route.js';
import { DefinitionDto, RatesDto, StatsDto } from '../dto/figures.dto.js';
import { parameter, readQuery, sagaOf } from '../read-request.js';
import type { AdminDefinition } from '../saga-drawing.js';
import { type Rates, SagaRates } from '../saga-rates.js';
import { SagaViews } from '../saga-views.js';

/** What the dashboard has to know of the application, and of who looks. */
export interface AdminContext {
  readonly operator?: string;
  readonly title?: string;
  readonly sagas: readonly string[];
  readonly bulk: boolean;
}

const AdminContextDto = dto<AdminContext>('AdminContextDto', {
  operator: field.optional(
    field.text('The operator, if the application identifies one. If absent, send `by` with each action.'),
  ),
  title: field.optional(field.text()),
  sagas: field.texts('The names of the sagas that this operator may see.'),
  bulk: field.flag('Whether this operator may act on all sagas that match a filter.'),
});

/** The longest time of rates, in hours. */
const LONGEST_RATES = 24 * 31;
const MOST_BUCKETS = 60;
const RATES_QUERY = {
  saga: parameter.text('Only this saga, with the figures of its steps.'),
  hours: parameter.count(1, LONGEST_RATES, 24),
  buckets: parameter.count(1, MOST_BUCKETS, 24),
};

/** What the sagas of this process are, and figures of all sagas. */
export class AdminFiguresController extends AdminController {
  @Inject(SagaRates) private readonly figures!: SagaRates;
  @Inject(SagaViews) private readonly views!: SagaViews;

  @Get('context')
  @Route({
    summary: 'Returns the current operator and the sagas that this operator may see',
    answer: AdminContextDto,
  })
  async context(@Req() request: unknown): Promise<AdminContext> {
    await this.access.demand({ kind: 'look' }, request);
    const { registry } = await this.admin.ready();
    const names = [...new Set(registry.all.map(({ graph }) => graph.name))].sort();
    const sagas = await this.access.visible(names, (name) => name, request);
    const operator = await this.access.operator(request, undefined);
    const { title } = this.admin.options;
    return {
      ...(operator !== undefined && { operator }),
      ...(title !== undefined && { title }),
      sagas,
      bulk: await this.access.may({ kind: 'bulk' }, request),
    };
  }

  @Get('definitions')
  @Route({
    summary: 'Returns the definitions of the sagas of this process, by name',
    answer: [DefinitionDto],
  })
  async definitions(@Req() request: unknown): Promise<AdminDefinition[]> {
    await this.access.demand({ kind: 'look' }, request);
    return this.access.visible(await this.views.definitions(), ({ name }) => name, request);
  }

  @Get('stats')
  @Route({
    summary: 'Returns the counts of unfinished sagas by name and status, the due sagas, and the outbox',
    answer: StatsDto,
  })
  async stats(@Req() request: unknown): Promise<SagaStats> {
    await this.access.demand({ kind: 'look' }, request);
    const stats = await this.admin.operations.stats();
    const visible = <T extends { readonly saga: string }>(items: readonly T[]) =>
      this.access.visible(items, ({ saga }) => saga, request);
    return {
      ...stats,
      ...{ sagas: await visible(stats.sagas), pausedSteps: await visible(stats.pausedSteps) },
    };
  }

  @Get('rates')
  @Route({
    summary: 'Returns counts, results and durations of the sagas that were started recently',
    query: RATES_QUERY,
    answer: RatesDto,
    errors: [400],
  })
  async rates(@Query() query: unknown, @Req() request: unknown): Promise<Rates> {
    await this.access.demand({ kind: 'look', ...sagaOf(query) }, request);
    const rates = await this.figures.rates(readQuery(RATES_QUERY, query));
    const names = rates.buckets.flatMap(({ sagas }) => sagas.map((one) => one.saga));
    const seen = new Set(await this.access.visible(names, (name) => name, request));
    const buckets = rates.buckets.map((bucket) => ({
      ...bucket,
      sagas: bucket.sagas.filter((one) => seen.has(one.saga)),
    }));
    return { ...rates, buckets };
  }
}
