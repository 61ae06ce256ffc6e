// How fast simulated time really goes: simulated seconds for a second, over about the last second.

const span = 1; // s, that is looked back on
const shortest = 0.3; // s, before anything is said
const patience = 0.5; // s without news, after which the silence counts

export class RateMeter {
  private readonly moments: { simulated: number; wall: number }[] = [];

  reset(): void {
    this.moments.length = 0;
  }

  // Time that runs backwards begins anew.
  add(simulated: number, wall: number): void {
    const last = this.moments.at(-1);
    if (last && simulated < last.simulated) this.reset();
    this.moments.push({ simulated, wall });
    while (this.moments.length > 2 && wall - this.moments[1]!.wall >= span) this.moments.shift();
  }

  // null: not known yet.
  at(wall: number): number | null {
    const first = this.moments[0];
    const last = this.moments.at(-1);
    if (!first || !last) return null;
    const until = wall - last.wall > patience ? wall : last.wall;
    return until - first.wall >= shortest ? (last.simulated - first.simulated) / (until - first.wall) : null;
  }
}
