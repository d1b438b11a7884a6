// A language with classes, functions and closures.
grammar Script;

@parser::members {
    private int loops;

    private boolean inLoop() {
        return loops > 0;
    }
}

unit : header? importing* declaration* EOF ;

header : 'module' path ';' ;

importing : 'import' path ('.' '*' | 'as' NAME)? ';' ;

path : NAME ('.' NAME)* ;

declaration : annotation* modifier* (classDeclaration | interfaceDeclaration | function | variable ';') ;

annotation : '@' path ('(' arguments? ')')? ;

modifier : 'public' | 'private' | 'static' | 'final' | 'lazy' ;

classDeclaration
    : 'class' NAME typeParameters? ('(' parameters? ')')? ('extends' type)? ('implements' type (',' type)*)?
      '{' member* '}'
    ;

interfaceDeclaration : 'interface' NAME typeParameters? ('extends' type (',' type)*)? '{' signature* '}' ;

member : declaration | 'init' block | ';' ;

signature : 'fun' NAME typeParameters? '(' parameters? ')' (':' type)? ';' ;

function : 'fun' NAME typeParameters? '(' parameters? ')' (':' type)? (block | '=' expression ';') ;

parameters : parameter (',' parameter)* ;

parameter : annotation* 'var'? NAME ':' type '...'? ('=' expression)? ;

typeParameters : '<' typeParameter (',' typeParameter)* '>' ;

typeParameter : NAME (':' type ('&' type)*)? ;

type
    : type '?'
    | type '[' ']'
    | path typeArguments?
    | '(' (type (',' type)*)? ')' '->' type
    ;

typeArguments : '<' typeArgument (',' typeArgument)* '>' ;

typeArgument : type | '?' (('extends' | 'super') type)? ;

variable : ('let' | 'var') NAME (':' type)? ('=' expression)? (',' NAME (':' type)? ('=' expression)?)* ;

block : '{' statement* '}' ;

statement
    : block                                                                              # nestedBlock
    | variable ';'                                                                       # localVariable
    | classDeclaration                                                                   # localClass
    | function                                                                           # localFunction
    | 'if' '(' expression ')' statement ('else' statement)?                               # conditional
    | 'while' '(' expression ')' {loops++;} statement {loops--;}                          # whileLoop
    | 'do' {loops++;} statement {loops--;} 'while' '(' expression ')' ';'                 # doLoop
    | 'for' '(' forControl ')' {loops++;} statement {loops--;}                            # forLoop
    | 'try' block catching* ('finally' block)?                                           # guarded
    | 'when' '(' expression ')' '{' branch* ('else' '->' statement)? '}'                  # selection
    | 'return' expression? ';'                                                           # returning
    | 'throw' expression ';'                                                             # throwing
    | {inLoop()}? ('break' | 'continue') NAME? ';'                                        # leaving
    | NAME ':' statement                                                                 # labelled
    | expression ';'                                                                     # evaluated
    | ';'                                                                                # empty
    ;

forControl : NAME (':' type)? 'in' expression | variable? ';' expression? ';' expressions? ;

catching : 'catch' '(' NAME ':' type ('|' type)* ')' block ;

branch : pattern (',' pattern)* ('if' expression)? '->' statement ;

pattern
    : literal
    | literal '..' literal
    | NAME ':' type
    | path '(' (pattern (',' pattern)*)? ')'
    | '_'
    ;

expressions : expression (',' expression)* ;

expression
    : primary                                                                            # primaryExpression
    | expression ('.' | '?.') NAME typeArguments? ('(' arguments? ')')?                  # selector
    | expression '[' expressions ']'                                                     # element
    | expression '(' arguments? ')'                                                      # call
    | expression ('++' | '--' | '!!')                                                    # postfix
    | ('+' | '-' | '!' | '~' | '++' | '--') expression                                   # prefix
    | expression ('as' | 'is' | '!is') type                                              # typeTest
    | <assoc = right> expression '**' expression                                         # power
    | expression ('*' | '/' | '%') expression                                            # product
    | expression ('+' | '-') expression                                                  # sum
    | expression ('<<' | '>' '>' '>' | '>' '>') expression                               # shift
    | expression '..' expression                                                         # range
    | expression ('<' | '<=' | '>' | '>=') expression                                    # comparison
    | expression ('==' | '!=' | '===' | '!==') expression                                # equality
    | expression '&' expression                                                          # bitAnd
    | expression '^' expression                                                          # bitXor
    | expression '|' expression                                                          # bitOr
    | expression '&&' expression                                                         # and
    | expression '||' expression                                                         # or
    | <assoc = right> expression '??' expression                                         # otherwise
    | <assoc = right> expression '?' expression ':' expression                           # choice
    | <assoc = right> expression ('=' | '+=' | '-=' | '*=' | '/=' | '%=') expression      # assignment
    | lambda                                                                             # closure
    ;

primary
    : literal
    | NAME
    | 'this'
    | 'super'
    | '(' expression ')'
    | '(' expression (',' expression)+ ')'
    | '[' expressions? ']'
    | '[' expression ':' expression (',' expression ':' expression)* ']'
    | 'new' type '(' arguments? ')' ('{' member* '}')?
    ;

lambda : (NAME | '(' (lambdaParameter (',' lambdaParameter)*)? ')') '=>' (expression | block) ;

lambdaParameter : NAME (':' type)? ;

arguments : argument (',' argument)* ;

argument : (NAME '=')? expression ;

literal : INTEGER | REAL | STRING | CHARACTER | 'true' | 'false' | 'null' ;

NAME : [\p{L}_$] [\p{L}\p{Nd}_$]* ;

INTEGER : DIGITS [lL]? | '0' [xX] [0-9a-fA-F] [0-9a-fA-F_]* [lL]? | '0' [bB] [01] [01_]* [lL]? ;

REAL : DIGITS '.' DIGITS EXPONENT? [fF]? | DIGITS EXPONENT [fF]? ;

fragment DIGITS : [0-9] ([0-9_]* [0-9])? ;

fragment EXPONENT : [eE] [+-]? DIGITS ;

STRING : '"' (ESCAPE | ~["\\\r\n])* '"' | '"""' .*? '"""' ;

CHARACTER : '\'' (ESCAPE | ~['\\\r\n]) '\'' ;

fragment ESCAPE : '\\' ([btnfr"'\\] | 'u' [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]) ;

COMMENT : '/*' (COMMENT | .)*? '*/' -> channel(HIDDEN) ;

LINE_COMMENT : '//' ~[\r\n]* -> channel(HIDDEN) ;

SPACE : [ \t\r\n\u000C]+ -> skip ;
