import { Inject, Injectable } from '@nestjs/common';
import { redact } from '../definition/redact.js';
import type { SagaStatus } from '../machine/saga-state.js';
import { AdminRuntime } from './admin.runtime.js';
import { SagaViews } from './saga-views.js';

/** Something that an operator did to a saga. */
export interface HistoryEntry {
  readonly at: Date;
  readonly action: string;
  readonly by?: string;
  readonly reason?: string;
  readonly step?: string;
  /** The state that it was in. */
  readonly from: SagaStatus;
  /** Waits for a second person. */
  readonly proposed: boolean;
  readonly details?: object;
}

/** What operators did to sagas, as it may be seen. */
@Injectable()
export class SagaHistory {
  constructor(
    @Inject(AdminRuntime) private readonly admin: AdminRuntime,
    @Inject(SagaViews) private readonly views: SagaViews,
  ) {}

  /** Oldest first. */
  async of(id: string, request: unknown): Promise<HistoryEntry[]> {
    const { saga, version } = await this.views.saga(id, request);
    const service = this.admin.sagas as unknown as { history?(id: string): Promise<HistoryEntry[]> };
    const entries = (await service.history?.(id)) ?? [];
    const paths = await this.views.redactionOf(saga, version);
    return entries.map(({ details, ...entry }) => ({
      ...entry,
      ...(details !== undefined && paths && { details: redactedDetails(details, paths) }),
    }));
  }
}

/** An input or a result that an operator gave may be any part of them. */
function redactedDetails(details: object, paths: readonly string[]): object {
  return redact(
    details,
    paths.flatMap((path) => [path, `*.${path}`]),
  ) as object;
}
