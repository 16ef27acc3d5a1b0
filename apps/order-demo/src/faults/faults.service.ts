import { setTimeout as sleep } from 'node:timers/promises';
import { BadRequestException, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Repository } from 'typeorm';
import { AnswerLostError, UnavailableError } from '../participant/participant-errors.js';
import { Fault } from './fault.entity.js';
import { type OperationOf, type Participant, PARTICIPANTS } from './participants.js';
import type { SetFaultDto } from './set-fault.dto.js';

/** The unreliable network between a saga and its participants. */
@Injectable()
export class FaultsService {
  constructor(@InjectRepository(Fault) private readonly faults: Repository<Fault>) {}

  all(): Promise<Fault[]> {
    return this.faults.find({ order: { participant: 'ASC', operation: 'ASC' } });
  }

  async set(participant: Participant, { mode, operation, times, delay }: SetFaultDto): Promise<Fault[]> {
    const operations: readonly string[] = PARTICIPANTS[participant];
    if (operation !== undefined && !operations.includes(operation)) {
      throw new BadRequestException(
        `${participant} has no operation '${operation}'; it has: ${operations.join(', ')}`,
      );
    }
    const affected = operation === undefined ? operations : [operation];
    return this.faults.save(
      affected.map((name) => ({ participant, operation: name, mode, remaining: times ?? null, delay })),
    );
  }

  async clear(participant?: Participant): Promise<void> {
    await (participant ? this.faults.delete({ participant }) : this.faults.clear());
  }

  /** Calls a participant's operation, unless a fault is in the way. */
  async meet<P extends Participant, Answer>(
    participant: P,
    operation: OperationOf<P>,
    signal: AbortSignal | undefined,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const fault = await this.take(participant, operation);
    if (fault?.mode === 'failing') throw new UnavailableError(`${participant} is down`);
    const answer = await work();
    if (fault?.mode === 'ambiguous') throw new AnswerLostError(`${participant} hung up before it answered`);
    if (fault?.mode === 'slow') await sleep(fault.delay, undefined, { signal });
    return answer;
  }

  /** Counts and reads in one statement: of `times: 2`, two processes at once take one each. */
  private async take(participant: Participant, operation: string): Promise<Fault | undefined> {
    const target = { participant, operation };
    const taken = await this.faults
      .createQueryBuilder()
      .update()
      .set({ remaining: () => 'remaining - 1' })
      .where([
        { ...target, remaining: IsNull() },
        { ...target, remaining: MoreThan(0) },
      ])
      .returning('*')
      .execute();
    return (taken.raw as Fault[])[0];
  }
}
