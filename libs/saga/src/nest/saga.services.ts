import { SagaOperations } from './saga.operations.js';
import { SagaSchedules } from './saga.schedules.js';
import { SagaService } from './saga.service.js';
import { SagaShards } from './saga.shards.js';

/** What applications inject. */
export const SERVICES = [SagaService, SagaOperations, SagaSchedules, SagaShards] as const;
