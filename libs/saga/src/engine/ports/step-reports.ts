/** What the attempts of a step have reported, in one round. A class, since it lives long: see NOTHING. */
export class StepReport {
  constructor(
    readonly round: number,
    readonly progress: StepProgress | undefined,
    readonly heartbeat: StepHeartbeat | undefined,
  ) {}
}

export interface StepProgress {
  /** 0 to 100. */
  readonly percent?: number;
  readonly message?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface StepHeartbeat {
  /** JSON text. Undefined: none. */
  readonly details?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** By the key of the step or of the item: see reportKey. */
export type StepReports = ReadonlyMap<string, StepReport>;

/** A step and its compensation report separately. No step's name has a colon. */
export function reportKey(step: string, kind: 'step' | 'compensation'): string {
  return kind === 'step' ? step : `${step}${OF_COMPENSATION}`;
}

/** The reverse of reportKey. */
export function partsOfReportKey(key: string): {
  readonly step: string;
  readonly kind: 'step' | 'compensation';
} {
  return key.endsWith(OF_COMPENSATION)
    ? { step: key.slice(0, -OF_COMPENSATION.length), kind: 'compensation' }
    : { step: key, kind: 'step' };
}

const OF_COMPENSATION = ':compensate';

/** The text that is stored with the saga. Details are JSON in JSON, so that people can read them. */
export function encodeReports(reports: StepReports): string {
  const entries = [...reports].map(([key, { round, progress, heartbeat }]) => {
    const details = heartbeat?.details === undefined ? '' : `,"details":${heartbeat.details}`;
    const beat = heartbeat ? `,"heartbeat":{"at":${heartbeat.at}${details}}` : '';
    const shown = progress ? `,"progress":${JSON.stringify(progress)}` : '';
    return `${JSON.stringify(key)}:{"round":${round}${shown}${beat}}`;
  });
  return `{${entries.join(',')}}`;
}

interface ReportJson {
  readonly round: number;
  readonly progress?: StepProgress;
  readonly heartbeat?: { readonly at: number; readonly details?: unknown };
}

/** What is encoded with a codec that this process does not have says nothing. */
export function decodeReports(text: string | undefined): Map<string, StepReport> {
  const json = text === undefined ? undefined : (JSON.parse(text) as Record<string, ReportJson> | string);
  if (json === undefined || typeof json === 'string') return new Map();
  return new Map(
    Object.entries(json).map(([key, { round, progress, heartbeat }]) => [
      key,
      new StepReport(round, progress, heartbeat && toHeartbeat(heartbeat)),
    ]),
  );
}

function toHeartbeat({ at, details }: NonNullable<ReportJson['heartbeat']>): StepHeartbeat {
  return details === undefined ? { at } : { at, details: JSON.stringify(details) };
}
