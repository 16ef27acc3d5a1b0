import type { ClassicLevel } from 'classic-level';

export type Change =
  | { readonly type: 'put'; readonly key: string; readonly value: string }
  | { readonly type: 'del'; readonly key: string };

interface Commit {
  readonly changes: readonly Change[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Changes on their way to the disk: while some are written the next gather, and all are done in their order. */
export class Journal {
  private gathered: Commit[] = [];
  private writing = false;

  constructor(private readonly level: ClassicLevel) {}

  /** Resolves once it would survive the loss of power. */
  commit(changes: readonly Change[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.gathered.push({ changes, resolve, reject });
      void this.write();
    });
  }

  private async write(): Promise<void> {
    if (this.writing) return;
    this.writing = true;
    while (this.gathered.length > 0) {
      const commits = this.gathered;
      this.gathered = [];
      try {
        await this.level.batch([...commits.flatMap(({ changes }) => changes)], { sync: true });
        for (const { resolve } of commits) resolve();
      } catch (error) {
        for (const { reject } of commits) reject(error);
      }
    }
    this.writing = false;
  }
}
