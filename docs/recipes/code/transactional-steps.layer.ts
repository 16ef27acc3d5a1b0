import type { SagaHandle, SagaService } from 'nestjs-durable-saga';
import type { SagaDatabase } from 'nestjs-durable-saga/database';
import type { Type } from '@nestjs/common';
import type { Transfer } from './transactional-steps.js';

/** What each of the modules of the page exports, for the spec that runs them. */
export interface TransferLayer {
  readonly TransferSaga: Type<{ debit(ctx: never): Promise<unknown> }>;
  /** Opens the layer on a database. */
  open(url: string): OpenLayer | Promise<OpenLayer>;
}

interface OpenLayer {
  readonly database: SagaDatabase;
  request(sagas: SagaService, transfer: Transfer): Promise<SagaHandle<unknown>>;
  close(): Promise<unknown>;
}
