import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Page,
  Saga,
  type SagaHandle,
  SagaModule,
  SagaOperations,
  SagaService,
  type SagaSummary,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';

export interface Import {
  tenant: string;
  file: string;
}

@Injectable()
export class Catalogues {
  async load(_tenant: string, _file: string, _signal: AbortSignal): Promise<{ rows: number }> {
    return { rows: 0 };
  }
  async publish(_tenant: string, _key: string): Promise<void> {}
}

/** One import of a tenant at a time, in the order of their starts, and 20 of all tenants at once. */
@Saga<Import>({ name: 'import', lockKey: ({ input }) => input.tenant, limit: 20 })
export class ImportSaga {
  constructor(private readonly catalogues: Catalogues) {}

  @Step({ timeout: '1h' })
  load(ctx: StepContext<Import>): Promise<{ rows: number }> {
    return this.catalogues.load(ctx.input.tenant, ctx.input.file, ctx.signal);
  }

  @Step()
  publish(ctx: StepContext<Import>): Promise<void> {
    return this.catalogues.publish(ctx.input.tenant, ctx.idempotencyKey);
  }
}

/** Code that acts for a tenant uses only this: it starts sagas with the tenant's tag, and reads only these. */
@Injectable()
export class TenantImports {
  constructor(
    private readonly sagas: SagaService,
    private readonly operations: SagaOperations,
  ) {}

  /** Correlation ids are unique per saga, so the tenant is part of them. */
  start(tenant: string, file: string): Promise<SagaHandle<ImportSaga>> {
    const options = { correlationId: `${tenant}/${file}`, tags: { tenant } };
    return this.sagas.start(ImportSaga, { tenant, file }, options);
  }

  list(tenant: string, cursor?: string): Promise<Page<SagaSummary>> {
    return this.sagas.find({ saga: ImportSaga, tags: { tenant }, cursor });
  }

  async cancel(tenant: string, file: string, by: string): Promise<void> {
    await this.sagas.cancel({ saga: ImportSaga, correlationId: `${tenant}/${file}` }, { by });
  }

  /** When a tenant leaves: its running sagas are compensated. */
  async stopAll(tenant: string, by: string): Promise<number> {
    const filter = { tags: { tenant }, status: 'running' } as const;
    const { done } = await this.operations.bulk('cancel', filter, { by, reason: 'the tenant has left' });
    return done;
  }
}

@Module({ providers: [Catalogues, ImportSaga, TenantImports], exports: [TenantImports] })
export class ImportModule {}

/**
 * Sagas of each tenant in a schema of their own. An application has one SagaModule, so each tenant has an application
 * context, with a pool and a worker of its own; several may live in one process.
 */
export async function openTenant(tenant: string, url: string): Promise<INestApplicationContext> {
  @Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: 4 }),
      SagaModule.forRoot({ schema: `saga_${tenant}`, worker: { concurrency: 10 } }),
      ImportModule,
    ],
  })
  class TenantModule {}
  return NestFactory.createApplicationContext(TenantModule, { logger: ['warn', 'error'] });
}
