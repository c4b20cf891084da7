/* Clocks: milliseconds left, {black, white}. */

/** Clocks at the beginning of a game. */
export const newClocks = (minutes) => ({ black: minutes * 60000, white: minutes * 60000 });

/** Clocks after `colour` has thought for `spent` milliseconds; a move made in time adds `increment`. */
export const afterThinking = (left, colour, spent, increment = 0) => ({
  ...left,
  [colour]: Math.max(0, left[colour] - spent) + (left[colour] > spent ? increment : 0),
});

/** Seconds that a program should think: a thirtieth of what is left and most of the increment, and never all of it. */
export function thinkingSeconds(left, increment) {
  const planned = left / 30 + 0.8 * increment;
  return Math.max(0.05, Math.min(planned, 0.5 * left)) / 1000;
}

/** A time on a clock: 1:05:00, 4:09, or 8.3 in the last ten seconds. */
export function formatClock(milliseconds) {
  if (milliseconds < 10000) return (Math.ceil(Math.max(0, milliseconds) / 100) / 10).toFixed(1);
  const seconds = Math.ceil(milliseconds / 1000);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
