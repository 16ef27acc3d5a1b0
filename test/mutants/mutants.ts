import { CLAIM_MUTANTS } from './claims.mutants.js';
import { CODEC_MUTANTS } from './codec.mutants.js';
import { COMPENSATION_REPLY_MUTANTS } from './compensation-replies.mutants.js';
import { DATABASE_MUTANTS } from './databases.mutants.js';
import { ENGINE_MUTANTS } from './engine.mutants.js';
import { FAILOVER_MUTANTS } from './failover.mutants.js';
import { FAMILY_LOCK_MUTANTS } from './family-locks.mutants.js';
import { FINDING_MUTANTS } from './finding.mutants.js';
import { HANDLER_MUTANTS } from './handler.mutants.js';
import { LIFE_CYCLE_MUTANTS } from './life-cycle.mutants.js';
import { LIMIT_MUTANTS } from './limits.mutants.js';
import { STEP_SLOT_MUTANTS } from './step-slots.mutants.js';
import { MACHINE_MUTANTS } from './machine.mutants.js';
import { MEMORY_MUTANTS } from './memory.mutants.js';
import { MESSAGING_MUTANTS } from './messaging.mutants.js';
import type { Mutant } from './mutant.js';
import { OPTIONAL_STEP_MUTANTS } from './optional-steps.mutants.js';
import { OPERATING_MUTANTS } from './operating.mutants.js';
import { POSTGRES_MUTANTS } from './postgres.mutants.js';
import { STORED_STEP_MUTANTS } from './stored-steps.mutants.js';
import { TASK_MUTANTS } from './tasks.mutants.js';
import { QUORUM_MUTANTS } from './quorum.mutants.js';
import { RESCHEDULE_MUTANTS } from './reschedule.mutants.js';
import { RETENTION_MUTANTS } from './retention.mutants.js';
import { SCHEDULE_MUTANTS } from './schedule.mutants.js';
import { SHARD_MUTANTS } from './shards.mutants.js';
import { STEP_PAUSE_MUTANTS } from './step-pauses.mutants.js';
import { DECLARED_MUTANTS } from './declared.mutants.js';
import { START_TIME_MUTANTS } from './start-times.mutants.js';
import { TAG_MUTANTS } from './tags.mutants.js';
import { WAY_OUT_MUTANTS } from './ways-out.mutants.js';
import { WAIT_MUTANTS } from './waits.mutants.js';
import { WATCHING_MUTANTS } from './watching.mutants.js';

export const MUTANTS: readonly Mutant[] = [
  ...MACHINE_MUTANTS,
  ...OPTIONAL_STEP_MUTANTS,
  ...ENGINE_MUTANTS,
  ...HANDLER_MUTANTS,
  ...MEMORY_MUTANTS,
  ...POSTGRES_MUTANTS,
  ...STORED_STEP_MUTANTS,
  ...CLAIM_MUTANTS,
  ...LIMIT_MUTANTS,
  ...STEP_SLOT_MUTANTS,
  ...START_TIME_MUTANTS,
  ...FAILOVER_MUTANTS,
  ...FAMILY_LOCK_MUTANTS,
  ...FINDING_MUTANTS,
  ...WAIT_MUTANTS,
  ...SCHEDULE_MUTANTS,
  ...CODEC_MUTANTS,
  ...RETENTION_MUTANTS,
  ...LIFE_CYCLE_MUTANTS,
  ...DATABASE_MUTANTS,
  ...MESSAGING_MUTANTS,
  ...OPERATING_MUTANTS,
  ...WAY_OUT_MUTANTS,
  ...SHARD_MUTANTS,
  ...COMPENSATION_REPLY_MUTANTS,
  ...RESCHEDULE_MUTANTS,
  ...QUORUM_MUTANTS,
  ...TASK_MUTANTS,
  ...WATCHING_MUTANTS,
  ...DECLARED_MUTANTS,
  ...TAG_MUTANTS,
  ...STEP_PAUSE_MUTANTS,
];
