# Count the points of a grid that stay in the Mandelbrot set for 50 steps.
use strict;
use warnings;

sub inside {
    my ($size) = @_;
    my $count = 0;
    for my $row (0 .. $size - 1) {
        my $imaginary = 2.0 * $row / $size - 1.0;
        for my $column (0 .. $size - 1) {
            my ($real, $x, $y, $step) = (2.0 * $column / $size - 1.5, 0.0, 0.0, 0);
            for (; $step < 50; $step++) {
                ($x, $y) = ($x * $x - $y * $y + $real, 2.0 * $x * $y + $imaginary);
                last if $x * $x + $y * $y > 4.0;
            }
            $count++ if $step == 50;
        }
    }
    return $count;
}

my $found;
$found = inside(100) for 1 .. $ARGV[0];
print "$found\n";
