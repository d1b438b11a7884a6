# Count the solutions of the queens puzzle by backtracking.
use strict;
use warnings;

sub solutions {
    my ($size, $row, $columns, $rising, $falling) = @_;
    return 1 if $row == $size;
    my $count = 0;
    for my $column (0 .. $size - 1) {
        next if $columns->[$column] || $rising->[$row + $column] || $falling->[$row - $column + $size];
        $columns->[$column] = $rising->[$row + $column] = $falling->[$row - $column + $size] = 1;
        $count += solutions($size, $row + 1, $columns, $rising, $falling);
        $columns->[$column] = $rising->[$row + $column] = $falling->[$row - $column + $size] = 0;
    }
    return $count;
}

my $found;
$found = solutions(8, 0, [(0) x 8], [(0) x 16], [(0) x 17]) for 1 .. $ARGV[0];
print "$found\n";
