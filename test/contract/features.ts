/** What a store may refuse to keep. */
export type Feature =
  | 'transactions'
  | 'cancellations that roll back'
  | 'starts that take their place at the commit'
  | 'messages'
  | 'an outbox of its own'
  | 'locks'
  | 'announcements of free slots'
  | 'turns of keys'
  | 'rates'
  | 'step limits'
  | 'pauses'
  | 'the time of the next due saga'
  | 'a clock set back'
  | 'failovers'
  | 'answers of bounded size';

let refused: readonly Feature[] = [];

/** The parts of the contract that `describeParts` declares have no test of these. */
export function withoutFeatures(features: readonly Feature[], describeParts: () => void): void {
  refused = features;
  describeParts();
  refused = [];
}

/** A test of what not every store keeps: skipped if one of these is refused. */
export function testOf(...features: readonly Feature[]): jest.It {
  return features.some((feature) => refused.includes(feature)) ? test.skip : test;
}

/** As `testOf`, for several tests. */
export function describeOf(...features: readonly Feature[]): jest.Describe {
  return features.some((feature) => refused.includes(feature)) ? describe.skip : describe;
}
