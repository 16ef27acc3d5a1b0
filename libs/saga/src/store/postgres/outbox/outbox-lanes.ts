/**
 * Messages of one topic and key are in one lane, and a lane is sent by one relay at a time, in order. A power of two;
 * many more than there will be relays, so that the work divides well, and few enough to look through at each turn.
 */
export const LANES = 64;
