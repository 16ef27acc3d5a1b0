import type { Type } from '@nestjs/common';
import type { GraphRecord } from '../definition/describe/graph-record.js';
import type { SagaDescription } from '../definition/describe/saga-description.js';
import type { ServiceParts } from '../nest/assemble-engine.js';
import type { SagaService } from '../nest/saga.service.js';
import { CODEC_OPTION } from './codec-option.js';
import { DATABASE_OPTIONS } from './command.js';

/** The options of every command that reads sagas or acts on them. */
export const SAGA_OPTIONS = { ...DATABASE_OPTIONS, ...CODEC_OPTION } as const;

/** Sagas as a command sees them: through the very calls that an application has, on the database alone. */
export interface OperatorSession {
  readonly sagas: SagaService;
  readonly running: ServiceParts;
  /** The applications encode what they store. */
  readonly isCoded: boolean;
  /** What was deployed, as it was stored; in the order of the names. */
  readonly deployed: readonly Deployed[];
  /** The class that stands for one of these, as `start()` takes it. */
  typeOf(saga: Deployed): Type;
}

/** The newest graph of a version of a saga. */
export interface Deployed {
  readonly name: string;
  readonly version: number;
  readonly graph: GraphRecord;
  readonly about: SagaDescription;
}
