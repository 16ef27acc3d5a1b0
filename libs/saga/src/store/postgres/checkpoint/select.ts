/** A setting for the rest of the transaction. What counts is its value at the end, so a SELECT may set it anywhere. */
export const setting = (name: string, value: string): string => `set_config('${name}', ${value}, true)`;

/** A SELECT in parts, so that more can be sent in its round trip: settings before what it selects, and a fence. */
export class Select {
  readonly text: string;

  /** @param selected with its names: `a AS b, c` */
  constructor(
    private readonly selected: string,
    private readonly from?: string,
  ) {
    this.text = `SELECT ${selected}${from === undefined ? '' : ` FROM ${from}`}`;
  }

  /** Returns this with a setting made for its transaction. */
  with(setting: string): Select {
    return new Select(`${setting}, ${this.selected}`, this.from);
  }

  /** Returns this with a call after what it selects: a SELECT without rows to sort evaluates its list in order. */
  plus(call: string): Select {
    return new Select(`${this.selected}, ${call}`, this.from);
  }

  /**
   * Returns this, from the rows of a call that is made first.
   * @throws Error if it selects from something already
   */
  after(call: string): Select {
    if (this.from !== undefined) throw new Error(`This statement has a FROM of its own: ${this.text}`);
    return new Select(this.selected, call);
  }
}
