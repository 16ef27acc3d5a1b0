import { Injectable } from '@nestjs/common';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type HeartbeatContext, Saga, Step } from 'nestjs-durable-saga';

export interface Import {
  file: string;
  lines: number;
}

/** The details of a heartbeat: the number of lines that are stored. */
export interface Position {
  line: number;
}

export type Row = readonly [line: number, text: string];

@Injectable()
export class Rows {
  /** Stores rows, each under its number: a row that is there already stays as it is. */
  async store(_rows: readonly Row[]): Promise<void> {}
}

const BATCH = 1_000;

@Saga({ name: 'import-file' })
export class ImportSaga {
  constructor(private readonly rows: Rows) {}

  @Step({ heartbeat: '30s', retry: { attempts: 20, delay: '5s' } })
  async load(ctx: HeartbeatContext<Import, Position>): Promise<Position> {
    const { file, lines } = ctx.input;
    const done = ctx.lastHeartbeat?.line ?? 0; // 0 at the first attempt
    let line = 0;
    let batch: Row[] = [];
    const store = async () => {
      await this.rows.store(batch);
      batch = [];
      await ctx.heartbeat({ line }); // rejects if the attempt is not wanted any more
      ctx.progress({ percent: (100 * line) / lines, message: `line ${line}` });
    };
    for await (const text of createInterface({ input: createReadStream(file) })) {
      line += 1;
      if (line <= done) continue;
      batch.push([line, text]);
      if (batch.length === BATCH) await store();
    }
    await store();
    return { line };
  }
}
